import { writeFileSync } from 'node:fs';
import { openApiDocument } from './openapi.ts';

/** Writes the committed document anew; a test fails while it differs from the contract. */
writeFileSync(new URL('openapi.json', import.meta.url), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
