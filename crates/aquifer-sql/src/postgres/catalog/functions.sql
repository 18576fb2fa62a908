SELECT json_build_object('part', 'function', 'id', p.oid::int8, 'name', p.proname, 'language', l.lanname,
    'body', CASE WHEN p.oid >= 16384 THEN p.prosrc END, 'immutable', p.provolatile = 'i',
    'volatile', p.provolatile = 'v', 'executable', has_function_privilege(p.oid, 'EXECUTE'),
    'built_in', p.oid < 16384 AND p.pronamespace = 'pg_catalog'::regnamespace,
    'cast', EXISTS (SELECT FROM pg_cast k WHERE k.castfunc = p.oid),
    'plain', p.proargdefaults IS NULL AND to_jsonb(p) ->> 'prosqlbody' IS NULL
        AND coalesce(to_jsonb(p) ->> 'prokind', 'f') = 'f' AND p.prorettype < 16384
        AND coalesce((SELECT max(x.id::oid::int8) FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) x (id)), 0) < 16384,
    'parameters', (SELECT json_agg(x.name) FROM unnest(p.proargnames) x (name)
        WHERE x.name IN ('key', 'name', 'type', 'value') OR x.name NOT IN (SELECT k.word FROM pg_get_keywords() k)),
    'polymorphic', EXISTS (SELECT FROM unnest(p.proargtypes::oid[]) x (id) JOIN pg_type t ON t.oid = x.id
                           WHERE t.typtype = 'p'),
    'extension', (SELECT e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                  WHERE (l.lanname IN ('c', 'internal') OR p.xmin = e.xmin) AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                      AND d.classid = 'pg_proc'::regclass AND d.objid = p.oid LIMIT 1))::text
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid = ANY($1::text[]::oid[])
