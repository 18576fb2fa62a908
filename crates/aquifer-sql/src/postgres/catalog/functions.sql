SELECT json_build_object('part', 'function', 'id', p.oid::int8, 'name', p.proname, 'immutable', p.provolatile = 'i',
    'volatile', p.provolatile = 'v', 'executable', has_function_privilege(p.oid, 'EXECUTE'),
    'built_in', p.oid < 16384 AND p.pronamespace = 'pg_catalog'::regnamespace,
    'cast', EXISTS (SELECT FROM pg_cast k WHERE k.castfunc = p.oid),
    'trigger_body', CASE WHEN p.prorettype = 'trigger'::regtype AND l.lanname = 'plpgsql' AND NOT EXISTS (
        SELECT FROM unnest(p.proconfig) x (setting) WHERE split_part(x.setting, '=', 1) <> 'search_path') THEN p.prosrc END,
    'polymorphic', EXISTS (SELECT FROM unnest(p.proargtypes::oid[]) x (id) JOIN pg_type t ON t.oid = x.id
                           WHERE t.typtype = 'p'),
    'extension', (SELECT e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                  WHERE (l.lanname IN ('c', 'internal') OR p.xmin = e.xmin) AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                      AND d.classid = 'pg_proc'::regclass AND d.objid = p.oid LIMIT 1))::text
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid = ANY($1::text[]::oid[])
