"""Pages: one folder each, with the page and its API side by side.

| File | Holds |
|---|---|
| `rows.py` | dataclasses that declare each visible field once |
| `queries.py` | functions that return these rows for one viewer |
| `views.py` | the HTML |
| `api.py` | the JSON |
| `urls.py` | the URLs of both |

`core` has the parts that pages share.
"""
