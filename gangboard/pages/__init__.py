"""Pages of the new layout: one folder each, with the page and its API side by side.

| File | Holds |
|---|---|
| `rows.py` | dataclasses that declare every field that people see, once |
| `queries.py` | functions that return these rows for one viewer |
| `views.py` | the HTML |
| `api.py` | the JSON |
| `urls.py` | the addresses of both |

`core` has what pages share.
"""
