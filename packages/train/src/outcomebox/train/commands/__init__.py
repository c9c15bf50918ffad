"""The commands of ``outcomebox-train``, one module each."""
