"""From a YAML file to what verl is started with."""
