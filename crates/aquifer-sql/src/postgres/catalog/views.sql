SELECT json_build_object('id', c.oid::int8, 'schema', n.nspname, 'name', c.relname,
    'columns', (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    'reads', (WITH RECURSIVE called AS (
            SELECT d.refobjid AS id FROM pg_depend d WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                AND d.refclassid = 'pg_proc'::regclass
            UNION
            SELECT d.refobjid FROM called f JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = f.id
                AND d.refclassid = 'pg_proc'::regclass),
        named AS (
            SELECT d.refobjid AS relation, d.refobjsubid AS number, w.has_rows FROM pg_depend d
            WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
            UNION ALL
            SELECT d.refobjid, d.refobjsubid, true FROM called f JOIN pg_depend d
            ON d.classid = 'pg_proc'::regclass AND d.objid = f.id AND d.refclassid = 'pg_class'::regclass)
        SELECT json_agg(DISTINCT jsonb_build_object('id', o.oid::int8, 'schema', m.nspname, 'table', o.relname,
            'column', a.attname, 'number', a.attnum))
        FROM named d
        JOIN pg_class o ON o.oid = d.relation AND o.oid <> c.oid
        JOIN pg_namespace m ON m.oid = o.relnamespace
        JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
            AND (a.attnum = d.number OR d.has_rows)))::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
CROSS JOIN LATERAL (SELECT r.ev_action::text ~ ':(varattno 0|consttype 2205) ' AS has_rows) w
WHERE c.relkind IN ('v', 'm') AND n.nspname <> ALL($1::text[])
