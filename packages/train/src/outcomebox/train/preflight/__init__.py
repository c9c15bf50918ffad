"""What is looked at before a run starts. It fails closed: what is not seen to be right is wrong."""
