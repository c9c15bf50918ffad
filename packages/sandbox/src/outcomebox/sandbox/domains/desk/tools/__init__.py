"""The desk's tools, apart from the rest: a domain's hash covers what lies beside its server."""
