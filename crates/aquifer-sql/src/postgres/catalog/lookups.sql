SELECT json_build_object('id', t.oid::int8)::text FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem
WHERE t.oid < 16384 AND coalesce(e.typname, t.typname) = ANY($1::text[])
