import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: ['./hub/platform/db/tenancy.ts', './hub/{platform,engine,products}/**/schema.ts'],
  out: './migrations',
});
