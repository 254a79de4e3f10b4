import { verificationOf, verifyStatement, type Verification, type VerifyRow } from '../verify.ts';
import { openToRead } from './copy.ts';

/** Checks the rules of the catalogue in one snapshot. */
export async function verifyPostgres(url: string): Promise<Verification> {
  const { connection, run } = await openToRead(url);
  try {
    const rows = await run(verifyStatement('(SELECT last_id FROM pet_counter)'));
    return verificationOf(rows as unknown as VerifyRow[]);
  } finally {
    await connection.close();
  }
}
