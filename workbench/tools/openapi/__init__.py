"""Tools made of OpenAPI documents: each operation one."""
