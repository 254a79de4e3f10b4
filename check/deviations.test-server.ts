/**
 * The faults that the reference service can have, one at a time, and the clauses that must detect each.
 * Together they break every clause, because a clause that no fault breaks proves nothing.
 */
export const FAULTS = {
  'mounted below /v2': ['base-address.v1'],
  'sends text/html': ['bodies.responses'],
  'sends errors that are not JSON': ['bodies.responses', 'Errors.body'],
  'keeps escapes in names': ['bodies.requests'],
  'refuses every filter': ['service.list', 'PetStatus.filter'],
  'forgets what it added': ['service.add'],
  'fetches the first animal always': ['service.fetch'],
  'fetches under another name': ['getPet.200'],
  'changes names': ['NewPet.name', 'NewPet.status', 'createPet.201'],
  'trims names': ['NewPet.name'],
  'changes categories': ['NewPet.categoryId', 'createPet.201'],
  'rounds categories': ['NewPet.categoryId.largest', 'NewPet.categoryId.smallest'],
  'refuses large categories': ['NewPet.categoryId.largest', 'NewPet.categoryId.smallest'],
  'requires a status': ['NewPet.status'],
  'sends ids as strings': ['Pet.id', 'createPet.201', 'listPets.200'],
  'sends ids outside int64': ['Pet.id', 'createPet.201', 'listPets.200'],
  'gives an id twice': ['Pet.id.unique'],
  'lists an animal twice': ['Pet.id.unique'],
  'takes the id of the client': ['Pet.id.assigned'],
  'lists without names': ['Pet.name', 'listPets.200'],
  'sends categories as strings': ['Pet.categoryId'],
  'wraps the list': ['Pets', 'listPets.200'],
  'sends errors without code': ['Error.code', 'Errors.body', 'listPets.401'],
  'sends errors without message': ['Error.message', 'Errors.body'],
  'sends the status of errors as a string': ['Error.status', 'Errors.body'],
  'sends errors with a fourth field': ['Error.fields'],
  'sends another status in errors': ['Errors.status'],
  'shows another status': ['Pet.status'],
  'stores every animal as sold': ['PetStatus.available', 'PetStatus.pending', 'createPet.201'],
  'stores every animal as available': ['PetStatus.sold'],
  'accepts any status': ['PetStatus.exactly'],
  'fails on lists': ['service.list', 'listPets.200', 'listPets.limit.range'],
  'ignores the limit': [
    'listPets.limit',
    'listPets.limit-and-status',
    'limit.maximum',
    'limit.default',
  ],
  'refuses the limit 100': ['listPets.limit.range'],
  'links as next to the same page': ['listPets.pages'],
  'links as prev to the same page': ['listPets.pages'],
  'links to a page that it refuses': ['listPets.pages'],
  'reads a bad limit as no limit': ['listPets.limit.integer', 'limit.minimum', 'limit.maximum'],
  'ignores the filter': [
    'listPets.status.available',
    'listPets.status.pending',
    'listPets.status.sold',
    'listPets.status.one-of',
  ],
  'finds nothing by filter': ['listPets.status.sold', 'getPet.replacement'],
  'loses the filter beside a limit of 1': ['listPets.limit-and-status'],
  'responds 200 to a create': ['createPet.201', 'NewPet.status'],
  'accepts an empty body': ['createPet.body'],
  'accepts anything': [
    'createPet.400',
    'Errors.400.name.missing',
    'Errors.400.categoryId.missing',
    'Errors.400.name.invalid',
    'Errors.400.categoryId.type',
    'Errors.400.categoryId.range',
    'Errors.400.status.type',
    'Errors.400.object',
    'Errors.400.json',
  ],
  'responds 422 for 400': ['createPet.400', 'createPet.body', 'Errors.400.name.missing'],
  'stores names that it refuses': ['Errors.nothing-added'],
  'stores categories that it refuses': ['Errors.nothing-added'],
  'requires no key': [
    'listPets.401',
    'createPet.401',
    'getPet.401',
    'Authentication.3.listPets',
    'Authentication.3.createPet',
    'Authentication.3.getPet',
  ],
  'responds 403 for 401': ['listPets.401', 'Errors.401.listPets'],
  'accepts Basic': [
    'Authentication.1.listPets',
    'Authentication.1.createPet',
    'Authentication.1.getPet',
  ],
  'refuses Bearer': ['Authentication.2'],
  'accepts the bare key': [
    'Authentication.2.listPets',
    'Authentication.2.createPet',
    'Authentication.2.getPet',
  ],
  'compares only the beginning of keys': [
    'Errors.401.listPets',
    'Errors.401.createPet',
    'Errors.401.getPet',
  ],
  'responds 400 to a negative id': ['getPet.petId'],
  'responds 200 to an unknown id': ['getPet.404', 'Errors.404'],
  'lists 10 by default': ['limit.default'],
  'lists 50 by default': ['limit.default'],
  'closes the connection on a get': ['getPet.200', 'getPet.404'],
  'serves getPet in 2031': ['getPet.removed'],
} as const satisfies Record<string, readonly string[]>;

export type Fault = keyof typeof FAULTS;

/** Faults in one part of what a clause states. That clause is judged alone. */
export const PARTIAL_FAULTS = {
  'fetches under another id': 'getPet.200',
  'fetches under another category': 'getPet.200',
  'fetches under another status': 'getPet.200',
  'hides the newest animal from filters': 'getPet.replacement',
  'lists 19 for a limit of 20': 'limit.default',
} as const satisfies Record<string, string>;

/** What a service may do because the specification does not forbid it. None of it breaks a clause. */
export const PERMITTED_DEVIATIONS = [
  'lists the oldest first',
  'links to no other page',
  'links to no page before',
  'links to pages elsewhere',
  'adds an animal before every list of one',
  'clamps the limit',
  'finds nothing for an unknown status',
  'takes names in ASCII only',
  'looks categories up',
  'refuses an id',
  'gives no status where none was sent',
  'adds a field to animals',
  'sends a header of its own',
  'throttles',
  'has given a key that may only read',
  'has removed getPet',
] as const;

type PermittedDeviation = (typeof PERMITTED_DEVIATIONS)[number];

export type Deviation = Fault | keyof typeof PARTIAL_FAULTS | PermittedDeviation;
