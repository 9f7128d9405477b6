"""The questions about many jobs, in DuckDB's SQL. Each gives the columns of a NamedTuple in ``fleet``, most important row first.

Functions are the same where their names and the names of their files are, without directories: jobs run in many places.
"""

# The tables that they ask.
ASKED = ("jobs", "frames", "causes", "suggestions", "failures", "exports")
# What two runs of the same program may differ in, as a factor, and the seconds that are worth a line.
_NOISE, _WORTH = 1.35, 0.5

# A comment at the end of a line, or a line that is one.
_COMMENT = r"'  #[^\n]*|(?:^|\n)#[^\n]*'"
# The same error of another export of the job, or of another job, differs in the number of the export alone.
_EXPORT_ERROR = r"regexp_replace(error, '^(draft )?export \S+ ', '')"
# The jobs with a time, and whether they began at the date or later.
_DATED = """dated AS (
    SELECT job, epoch(started) >= $1 AS is_after FROM jobs WHERE status = 'read' AND started IS NOT NULL
)"""
_FILE = r"regexp_extract({}file, '[^/\\]*$')"

TOTALS = """
SELECT count(*) FILTER (status = 'read'), count(*) FILTER (status <> 'read'), coalesce(sum(ranks), 0)::BIGINT,
    coalesce(sum(compiles), 0)::BIGINT, coalesce(sum(recompiles), 0)::BIGINT, coalesce(sum(limit_hits), 0)::BIGINT,
    coalesce(sum(failures), 0)::BIGINT, coalesce(sum(graph_breaks), 0)::BIGINT, sum(seconds),
    sum(recompile_seconds), sum(saved_seconds_least), sum(saved_seconds_most),
    count(*) FILTER (status = 'read' AND seconds IS NULL),
    (SELECT count(*) FROM exports), (SELECT count(*) FROM exports WHERE result = 'failed'),
    epoch(min(started)), epoch(max(started))
FROM jobs
"""

CAUSES = f"""
WITH grouped AS (
    SELECT code, rule, axis_pattern, count(DISTINCT axis) AS variants, any_value(axis) AS axis,
        arg_max(struct_pack(function := function, file := file, line := line), coalesce(seconds, 0)) AS longest,
        arg_max(remedy, coalesce(seconds, 0)) AS remedy,
        count(DISTINCT job) AS jobs, count(DISTINCT (function, {_FILE.format("")})) AS functions,
        count(DISTINCT (job, rank, process, compile_id)) AS recompiles, sum(seconds) AS seconds
    FROM causes
    WHERE verdict <> 'over the limit'
    GROUP BY code, rule, axis_pattern
)
SELECT code, rule, CASE WHEN variants = 1 THEN axis ELSE axis_pattern END, longest.function, longest.file, longest.line,
    jobs, functions, recompiles, seconds, remedy
FROM grouped
ORDER BY seconds DESC NULLS LAST, recompiles DESC, code, axis_pattern
"""

ADVICE = f"""
WITH marks AS (
    -- Marks that remove the same compilations, and only together, are one thing to do.
    SELECT 'mark as dynamic' AS kind, split_part(arg_min(codes, id), ' ', 1) AS code,
        string_agg(name, ', ' ORDER BY length(id), id) AS what, function, {_FILE.format("")} AS named, file, line,
        CASE
            WHEN bool_and(entries <> '') THEN string_agg(recommendation, '; ' ORDER BY length(id), id)
                || ': add ' || string_agg(entries, ',' ORDER BY length(id), id) || ' to TORCH_COMPILE_DYNAMIC_SOURCES'
            WHEN bool_and(python <> '') THEN string_agg(
                recommendation || ': ' || replace(regexp_replace(python, {_COMMENT}, '', 'g'), chr(10), '; '), '; ' ORDER BY length(id), id)
            ELSE string_agg(recommendation, '; ' ORDER BY length(id), id)
        END AS text,
        job, compiles_saved AS compiles, seconds, arg_min(confidence, id) AS confidence
    FROM suggestions
    GROUP BY job, function, file, line, compiles_saved, seconds, CASE WHEN seconds IS NULL THEN id END
), changes AS (
    SELECT 'code change', code, string_agg(DISTINCT axis_pattern, ', ' ORDER BY axis_pattern), function, {_FILE.format("")}, file, line,
        coalesce(remedy, rule) AS text, job, 1, sum(seconds), NULL
    FROM causes
    WHERE verdict = 'avoidable by a code change'
    GROUP BY job, rank, process, compile_id, code, function, file, line, text
), every AS (
    SELECT * FROM marks UNION ALL SELECT * FROM changes
), summed AS (
    SELECT kind, code, what, function, arg_max(struct_pack(file := file, line := line), coalesce(seconds, 0)) AS longest,
        arg_max(text, coalesce(seconds, 0)) AS text,
        count(DISTINCT job) AS jobs, sum(compiles)::BIGINT AS compiles, sum(seconds) AS seconds,
        arg_max(confidence, coalesce(seconds, 0)) AS confidence
    FROM every
    GROUP BY kind, code, what, function, named
)
SELECT kind, code, what, function, longest.file, longest.line, text, jobs, compiles, seconds, confidence
FROM summed
ORDER BY seconds DESC NULLS LAST, compiles DESC, kind DESC, code, what, function
"""

FAILURES = f"""
SELECT outcome, function, any_value(file), any_value(line), message, count(DISTINCT job) AS jobs, count(*) AS number
FROM failures
GROUP BY outcome, function, {_FILE.format("")}, message
ORDER BY jobs DESC, number DESC, outcome, function, message
"""

EXPORTS = f"""
SELECT split_part(any_value(codes), ' ', 1) AS code, {_EXPORT_ERROR} AS message,
    any_value(called_file), any_value(called_line), any_value(remedy), count(DISTINCT job) AS jobs, count(*) AS number
FROM exports
WHERE result = 'failed'
GROUP BY message, {_FILE.format("called_")}, called_line
ORDER BY jobs DESC, number DESC, code, message, called_line
"""

UNREADABLE = "SELECT job, source, error FROM jobs WHERE status <> 'read' ORDER BY source"

UNDATED = "SELECT count(*) FROM jobs WHERE status = 'read' AND started IS NULL"

SIDES = """
SELECT epoch(started) >= $1 AS is_after, count(*), sum(ranks)::BIGINT,
    sum(seconds) / greatest(sum(ranks) FILTER (seconds IS NOT NULL), 1),
    sum(recompiles) / greatest(sum(ranks), 1)
FROM jobs
WHERE status = 'read' AND started IS NOT NULL
GROUP BY is_after
"""

COMPARED = f"""
WITH {_DATED}, sides AS (
    SELECT function, {_FILE.format("frames.")} AS named FROM frames JOIN dated USING (job)
    GROUP BY function, named
    HAVING bool_or(is_after) AND NOT bool_and(is_after)
)
SELECT count(*) FROM sides
"""

REGRESSIONS = f"""
WITH {_DATED}, sides AS (
    SELECT function, {_FILE.format("frames.")} AS named, any_value(file) AS file,
        count(DISTINCT job) FILTER (is_after) AS jobs_after, count(DISTINCT job) FILTER (NOT is_after) AS jobs_before,
        count(DISTINCT (job, rank, process)) FILTER (is_after) AS after,
        count(DISTINCT (job, rank, process)) FILTER (NOT is_after) AS before,
        coalesce(sum(recompiles) FILTER (is_after), 0) AS recompiles_after,
        coalesce(sum(recompiles) FILTER (NOT is_after), 0) AS recompiles_before,
        sum(seconds) FILTER (is_after) AS seconds_after,
        sum(seconds) FILTER (NOT is_after) AS seconds_before,
        count(DISTINCT (job, rank, process)) FILTER (is_after AND seconds IS NOT NULL) AS timed_after,
        count(DISTINCT (job, rank, process)) FILTER (NOT is_after AND seconds IS NOT NULL) AS timed_before,
        coalesce(sum(failures + limit_hits) FILTER (is_after), 0) AS failures_after,
        coalesce(sum(failures + limit_hits) FILTER (NOT is_after), 0) AS failures_before
    FROM frames JOIN dated USING (job)
    GROUP BY function, named
), means AS (
    SELECT function, named, file, jobs_before, jobs_after, recompiles_before / before AS rb, recompiles_after / after AS ra,
        seconds_before / timed_before AS sb, seconds_after / timed_after AS sa,
        failures_before / before AS fb, failures_after / after AS fa,
        (seconds_after / timed_after - seconds_before / timed_before) * after AS added
    FROM sides
    WHERE before > 0 AND after > 0
), blamed AS (
    SELECT function, {_FILE.format("causes.")} AS named, code, axis_pattern, any_value(axis) FILTER (is_after) AS axis,
        count(*) FILTER (NOT is_after) = 0 AS is_new, sum(seconds) FILTER (is_after) AS seconds
    FROM causes JOIN dated USING (job)
    GROUP BY function, named, code, axis_pattern
    HAVING count(*) FILTER (is_after) > 0
), worst AS (
    SELECT DISTINCT ON (function, named) function, named, code, axis, is_new
    FROM blamed
    ORDER BY function, named, is_new DESC, seconds DESC NULLS LAST, code, axis
)
SELECT function, file, jobs_before, jobs_after, rb, ra, sb, sa, added, fb, fa, code, axis, coalesce(is_new, false)
FROM means LEFT JOIN worst USING (function, named)
WHERE ra > rb * 1.1 OR fa > fb * 1.1 OR (sa > sb * {_NOISE} AND added >= {_WORTH})
ORDER BY added DESC NULLS LAST, ra - rb DESC, function
"""

EXPORTS_COMPARED = f"""
WITH {_DATED}, sides AS (
    SELECT {_FILE.format("called_")} AS named FROM exports JOIN dated USING (job)
    WHERE result <> 'not recorded'
    GROUP BY named
    HAVING bool_or(is_after) AND NOT bool_and(is_after)
)
SELECT count(*) FROM sides
"""

# An edit moves a call to another line, so calls of one file are one.
EXPORT_REGRESSIONS = f"""
WITH {_DATED}, calls AS (
    SELECT {_FILE.format("called_")} AS named, called_file, called_line, is_after, job, result = 'failed' AS failed,
        split_part(codes, ' ', 1) AS code, {_EXPORT_ERROR} AS message, remedy
    FROM exports JOIN dated USING (job)
    WHERE result <> 'not recorded'
), sides AS (
    SELECT named, any_value(called_file) AS file,
        count(DISTINCT job) FILTER (NOT is_after) AS jobs_before, count(DISTINCT job) FILTER (is_after) AS jobs_after,
        avg(failed::INT) FILTER (NOT is_after) AS before, avg(failed::INT) FILTER (is_after) AS after
    FROM calls
    GROUP BY named
), errors AS (
    SELECT named, code, message, any_value(called_line) AS line, any_value(remedy) AS remedy, count(*) AS often
    FROM calls
    WHERE failed AND is_after
    GROUP BY named, code, message
), worst AS (
    SELECT DISTINCT ON (named) named, code, message, line, remedy FROM errors ORDER BY named, often DESC, code, message
)
SELECT file, line, jobs_before, jobs_after, before, after, code, message, remedy
FROM sides JOIN worst USING (named)
WHERE after > before * 1.1
ORDER BY after - before DESC, jobs_after DESC, file, line
"""
