"""The bundled `travel` domain: a hotel booking desk for leisure and corporate travellers."""
