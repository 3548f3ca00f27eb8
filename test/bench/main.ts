import { benchAutomations } from './automations.ts';
import { benchNodes } from './nodes.ts';
import { benchRuns } from './runs.ts';

const benches: Record<string, () => Promise<void>> = {
  runs: benchRuns,
  nodes: benchNodes,
  automations: benchAutomations,
};
const name = process.argv[2] ?? '';
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(name === '' || name === '--help' ? 0 : 2);
}
await bench();
process.exit(0);
