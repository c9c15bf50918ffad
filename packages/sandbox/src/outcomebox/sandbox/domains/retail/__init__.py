"""The bundled `retail` domain: the service desk of an online shop for home and outdoor goods."""
