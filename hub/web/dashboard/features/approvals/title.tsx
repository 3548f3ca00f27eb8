import type { ApprovalSummary } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';

/** Returns a function that writes what an approval asks for, in a few words. */
export function useApprovalTitle(): (approval: Pick<ApprovalSummary, 'kind' | 'title' | 'nodeName'>) => string {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const isolate = useIsolate();
  return ({ kind, title, nodeName }) => {
    if (kind === 'step') return isolate(visibleLine(title));
    return nodeName === null ? texts.runProgram : format(texts.runProgramOn, { node: isolate(visibleLine(nodeName)) });
  };
}
