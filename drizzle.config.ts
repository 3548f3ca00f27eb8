import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: ['./hub/platform/db/tenancy.ts', './hub/platform/db/schema.ts', './hub/platform/db/automation-schema.ts'],
  out: './migrations',
});
