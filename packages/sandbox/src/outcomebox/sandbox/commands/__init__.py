"""The program `outcomebox-sandbox`; needs the extra `serve`."""
