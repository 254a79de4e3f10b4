import { catalogueRules, problemLine, type Verification } from '../verify.ts';
import { openToRead } from './copy.ts';

const LAST_ID = '(SELECT last_id FROM pet_counter)';

/** Checks the rules of the catalogue in one snapshot. */
export async function verifyPostgres(url: string): Promise<Verification> {
  const { connection, run } = await openToRead(url);
  try {
    const problems: string[] = [];
    for (const rule of catalogueRules(LAST_ID)) {
      const [row] = await run(
        `WITH broken (name) AS (${rule.sql}) SELECT count(*), min(name) FROM broken`,
      );
      const [count, first] = row ?? [];
      if (count !== 0n) problems.push(problemLine(rule, Number(count), first));
    }
    const [row] = await run(`SELECT count(*), ${LAST_ID} FROM pets`);
    return { animals: Number(row?.[0]), lastId: row?.[1] as bigint, problems };
  } finally {
    await connection.close();
  }
}
