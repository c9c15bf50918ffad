"""verl's adapters: dataset, agent loop and reward over the episode loop of probe and evaluation."""
