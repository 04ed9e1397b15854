"""Parts that pages share: sign-in checks, layout, forms, tables, lists, the REST API and live updates."""
