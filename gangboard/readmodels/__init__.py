"""Rows and queries that several pages, messages and commands share. Every query takes `viewer=`."""
