import { compareStructure } from './structure.ts';
import { verificationOf, verifyStatement, type Verification, type VerifyRow } from './verify.ts';
import { openToRead } from './postgres-copy.ts';
import { readParts, readPartsOfNew } from './postgres-structure.ts';

/** Compares the structure with that of a new store, then checks the rules of the catalogue in one statement. */
export async function verifyPostgres(url: string): Promise<Verification> {
  const { connection, run } = await openToRead(url);
  try {
    const parts = await readParts(run);
    await run('ROLLBACK');
    const structure = compareStructure(parts, await readPartsOfNew(run));
    const statement = verifyStatement('(SELECT last_id FROM pet_counter)');
    const rows = structure.isWhole ? await run(statement) : [];
    return verificationOf(rows as unknown as VerifyRow[], structure);
  } finally {
    await connection.close();
  }
}
