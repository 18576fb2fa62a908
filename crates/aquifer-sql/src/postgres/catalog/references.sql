SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'to', a.attname,
    'from_schema', m.nspname, 'from_table', o.relname, 'from', b.attname)::text
FROM pg_constraint k
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) x (own, other)
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class o ON o.oid = k.confrelid
JOIN pg_namespace m ON m.oid = o.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.own
JOIN pg_attribute b ON b.attrelid = o.oid AND b.attnum = x.other
WHERE k.contype = 'f' AND n.nspname <> ALL($1::text[])
