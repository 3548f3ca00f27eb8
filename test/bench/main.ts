import { benchAi } from './ai.ts';
import { benchAutomations } from './automations.ts';
import { benchChat } from './chat.ts';
import { benchCompanion } from './companion.ts';
import { benchDashboard } from './dashboard.ts';
import { benchKnowledge } from './knowledge.ts';
import { benchNodes } from './nodes.ts';
import { benchRuns } from './runs.ts';
import { benchVoice } from './voice.ts';
import { benchWaiting } from './waiting.ts';

const benches: Record<string, (args: string[]) => Promise<void>> = {
  runs: benchRuns,
  nodes: benchNodes,
  companion: benchCompanion,
  waiting: benchWaiting,
  automations: benchAutomations,
  chat: benchChat,
  knowledge: benchKnowledge,
  ai: benchAi,
  voice: benchVoice,
  dashboard: benchDashboard,
};
const name = process.argv[2] ?? '';
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(
    `Usage: npm run bench -- ${Object.keys(benches).join(' | ')}\n       npm run bench -- NAME --help lists the parts.\n`,
  );
  process.exit(name === '' || name === '--help' ? 0 : 2);
}
await bench(process.argv.slice(3));
process.exit(0);
