SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'column', a.attname,
    'to_schema', pn.nspname, 'to_table', pc.relname)::text
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class pc ON pc.oid = i.inhparent AND pc.relkind IN ('r', 'p', 'f')
JOIN pg_namespace pn ON pn.oid = pc.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attinhcount > 0
JOIN pg_attribute pa ON pa.attrelid = pc.oid AND pa.attname = a.attname AND NOT pa.attisdropped
WHERE n.nspname <> ALL($1::text[])
