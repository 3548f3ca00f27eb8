import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/**
 * Files that take longest, the longest first. Begun last, one of them would keep a single worker busy when all others are done; in a fresh clone
 * nothing but their sizes is known of files, and that says little of those that wait for processes.
 */
const longest = [
  'test/e2e/chat-page.test.ts',
  'test/chaos/crash.test.ts',
  'test/chaos/batches.test.ts',
  'node-agent/renderer/window.test.ts',
  'test/e2e/chat-command-line.test.ts',
  'test/e2e/capture-browser.test.ts',
  'test/chaos/webhooks.test.ts',
  'test/chaos/redis-away.test.ts',
  'test/e2e/stop.test.ts',
  'test/e2e/start.test.ts',
  'node-agent/renderer/decisions.test.ts',
  'test/e2e/owner.test.ts',
  'test/chaos/chat-live.test.ts',
  'test/e2e/companion.test.ts',
  'test/chaos/commands.test.ts',
  'test/chaos/readers.test.ts',
  'test/chaos/proxy-errors.test.ts',
  'test/e2e/channel.test.ts',
  'node-agent/runtime/self-test.test.ts',
  'test/e2e/packs.test.ts',
  'test/chaos/database.test.ts',
  'test/chaos/late-results.test.ts',
  'test/chaos/ai-replies.test.ts',
  'test/e2e/workflow-files.test.ts',
  'test/e2e/launcher.test.ts',
  'node-agent/runtime/supervisor.test.ts',
  'test/e2e/uploads.test.ts',
  'test/chaos/held-runs.test.ts',
  'test/chaos/deadly-run.test.ts',
  'test/chaos/workspace-events.test.ts',
  'test/e2e/command-line.test.ts',
  'test/e2e/dev.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/sleep.test.ts',
  'test/chaos/backlog.test.ts',
  'test/chaos/quiet-log.test.ts',
  'test/chaos/schedules.test.ts',
  'test/api/webhooks.test.ts',
  'test/api/hostile.test.ts',
  'test/api/plans.test.ts',
  'test/api/chat-live.test.ts',
  'hub/products/ai/models/failover.test.ts',
  'test/api/approvals.test.ts',
  'test/api/poison.test.ts',
  'test/api/fairness.test.ts',
  'test/api/tracing.test.ts',
  'hub/products/automations/runs/month-retention.test.ts',
  'test/api/contract.test.ts',
  'test/api/triggers.test.ts',
  'test/api/idempotency.test.ts',
  'hub/platform/http/openapi/document.test.ts',
  'test/electron/hub.test.ts',
  'test/electron/start.test.ts',
  'test/electron/capture.test.ts',
  'test/electron/package.test.ts',
];

/** Begins the longest files first, and the others as ever. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.indexOf(relative(process.cwd(), moduleId));
      return at === -1 ? longest.length : at;
    };
    // The sequencer's own order, not an array's method.
    // oxlint-disable-next-line unicorn/no-array-sort
    const ordered = await super.sort(files);
    return ordered.toSorted((left, right) => rank(left) - rank(right));
  }
}
