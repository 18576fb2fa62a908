WITH RECURSIVE held AS (
    SELECT a.attrelid AS relation, a.attname AS name, a.atttypid AS type
    FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
    UNION
    SELECT h.relation, h.name, x.type FROM held h JOIN pg_type t ON t.oid = h.type
    CROSS JOIN LATERAL (
        SELECT t.typbasetype UNION ALL SELECT t.typelem UNION ALL
        SELECT g.rngsubtype FROM pg_range g
        WHERE t.oid = g.rngtypid OR t.oid = (to_jsonb(g) ->> 'rngmultitypid')::oid) x (type)
    WHERE x.type >= 16384)
SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'to', h.name,
    'from_schema', m.nspname, 'from_table', o.relname, 'from', a.attname)::text
FROM held h
JOIN pg_type t ON t.oid = h.type AND t.typtype = 'c'
JOIN pg_class o ON o.oid = t.typrelid
JOIN pg_namespace m ON m.oid = o.relnamespace
JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_class c ON c.oid = h.relation
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> ALL($1::text[])
