SELECT json_build_object('schema', n.nspname, 'name', c.relname,
    'columns', (SELECT json_agg(a.attname) FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname || '.' || c.relname = ANY($1::text[])
