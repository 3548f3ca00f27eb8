import { useRereadOn } from '../../app/live-updates.tsx';

/** The last runs are read again at most this often. */
const everyMs = 5_000;

/** Reads the list of workflows again after runs changed, so that their last runs are current. */
export const useWorkflowEvents = () =>
  useRereadOn(({ type }) => type === 'run', [['listAutomationWorkflowSummaries']], { everyMs });
