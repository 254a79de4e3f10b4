import { newCursor } from '../../src/domain/page.ts';
import type { PetStatus } from '../../src/domain/pet.ts';

/** The page that begins with this animal, if it is there and of this status. */
export function pageOf(id: number, status: PetStatus | undefined): string {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `/pets?limit=1${filter}&cursor=${newCursor(BigInt(id) - 1n, status)}`;
}

export function shownAlone({ status, body }: { status: number; body: string }): string | undefined {
  if (status === 404) return undefined;
  return (JSON.parse(body) as { status: string }).status;
}

export function shownInPage({ body }: { body: string }, id: number): string | undefined {
  const [first] = JSON.parse(body) as { id: number; status: string }[];
  return first?.id === id ? first.status : undefined;
}
