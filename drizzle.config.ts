import { defineConfig } from 'drizzle-kit';

export default defineConfig({ dialect: 'postgresql', schema: './hub/platform/db/schema.ts', out: './migrations' });
