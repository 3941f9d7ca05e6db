"""A service that learns while it answers: `forks serve`.

From the bottom: `tables`, `bodies` and `operations` read requests; `table_model` is the model;
`journal`, `pending`, `applying` and `keeper` see to it that nothing acknowledged is lost; `worker`
is the thread that learns; `service` has all models; `context`, the routes and `app` are the web
application; `insight`, `glances`, `live` and `page` are what it shows. It needs the extra `serve`.
"""
