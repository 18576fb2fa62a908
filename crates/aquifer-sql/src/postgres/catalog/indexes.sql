SELECT json_build_object('id', i.indrelid::int8, 'name', x.relname, 'unique', i.indisunique,
    'columns', (i.indkey::int2[])[0:i.indnkeyatts - 1], 'has_expressions', i.indexprs IS NOT NULL,
    'text', m.amname IN ('gin', 'gist') AND o.opcintype = 'tsvector'::regtype,
    'expression', CASE WHEN i.indkey[0] = 0 THEN pg_get_indexdef(i.indexrelid, 1, true) END,
    'vector', (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]),
    'made', (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
             WHERE d.adrelid = i.indrelid AND d.adnum = i.indkey[0]),
    'is_made', (SELECT a.attgenerated <> '' FROM pg_attribute a
                WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]),
    'whole', position(':varattno 0 ' IN coalesce(i.indexprs::text, '')) > 0,
    'over', (SELECT json_agg(DISTINCT a.attname) FROM pg_depend d
             JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
             WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
             AND (d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                  OR d.classid = 'pg_attrdef'::regclass AND d.objid IN (SELECT f.oid FROM pg_attrdef f
                      WHERE f.adrelid = i.indrelid AND f.adnum = i.indkey[0]))),
    'select', NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
             AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
             AND NOT has_column_privilege(i.indrelid, d.refobjsubid::int2, 'SELECT')))::text
FROM pg_index i
JOIN pg_opclass o ON o.oid = i.indclass[0]
JOIN pg_class x ON x.oid = i.indexrelid
JOIN pg_am m ON m.oid = x.relam
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1::text[]) AND NOT c.relispartition AND i.indpred IS NULL AND i.indisvalid
    AND (m.amname IN ('gin', 'gist') OR i.indisunique)
ORDER BY i.indrelid, x.relname
