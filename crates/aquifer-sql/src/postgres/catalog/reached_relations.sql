WITH RECURSIVE reached AS (
    SELECT c.oid AS id FROM pg_class c WHERE c.relnamespace = pg_my_temp_schema() AND c.relname = ANY($1::text[])
    UNION
    SELECT x.id FROM reached r CROSS JOIN LATERAL (
        SELECT d.refobjid FROM pg_class c JOIN pg_rewrite w ON w.ev_class = c.oid AND w.ev_type = '1'
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
        WHERE c.oid = r.id AND c.relkind = 'v'
        UNION ALL
        SELECT d.refobjid FROM pg_policy p
        JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass
        WHERE p.polrelid = r.id
        UNION ALL
        SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = r.id) x (id)),
code AS (
    SELECT w.ev_class AS relation, 'pg_rewrite'::regclass AS class, w.oid AS id, w.ev_action::text AS tree
    FROM reached r JOIN pg_class c ON c.oid = r.id AND c.relkind = 'v'
    JOIN pg_rewrite w ON w.ev_class = c.oid AND w.ev_type = '1'
    UNION ALL
    SELECT p.polrelid, 'pg_policy'::regclass, p.oid, p.polqual::text
    FROM reached r JOIN pg_class c ON c.oid = r.id AND c.relrowsecurity
    JOIN pg_policy p ON p.polrelid = c.oid AND p.polqual IS NOT NULL
    UNION ALL
    SELECT f.adrelid, 'pg_attrdef'::regclass, f.oid, f.adbin::text
    FROM reached r JOIN pg_attrdef f ON f.adrelid = r.id
    JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated = 'v')
SELECT json_build_object('id', c.oid::int8, 'kind', c.relkind, 'name', c.relname,
    'is_statement', c.relnamespace = pg_my_temp_schema(),
    'trees', (SELECT json_agg(x.tree) FROM code x WHERE x.relation = c.oid),
    'functions', (SELECT json_agg(d.refobjid::text) FROM code x JOIN pg_depend d ON d.classid = x.class
        AND d.objid = x.id AND d.refclassid = 'pg_proc'::regclass WHERE x.relation = c.oid),
    'operators', (SELECT json_agg(d.refobjid::text) FROM code x JOIN pg_depend d ON d.classid = x.class
        AND d.objid = x.id AND d.refclassid = 'pg_operator'::regclass WHERE x.relation = c.oid))::text
FROM reached r JOIN pg_class c ON c.oid = r.id
