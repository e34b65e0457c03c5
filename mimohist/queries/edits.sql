-- files that were edited or written most often
SELECT count(*) AS edits, count(DISTINCT session_id) AS sessions,
  date(max(time_created) / 1000, 'unixepoch', 'localtime') AS last,
  CASE instr(substr(input, instr(input, char(10)) + 1), char(10))
    WHEN 0 THEN substr(input, instr(input, char(10)) + 1)
    ELSE substr(substr(input, instr(input, char(10)) + 1), 1,
      instr(substr(input, instr(input, char(10)) + 1), char(10)) - 1) END AS file
FROM parts
WHERE lower(tool) IN ('edit', 'write', 'multiedit', 'notebook_edit') AND kind = 'tool_output'
GROUP BY file ORDER BY edits DESC, file LIMIT 50;
