import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { ApprovalBanner } from './approval-banner.tsx';
import { Banner } from './banner.tsx';
import { useStepName } from './names.tsx';
import type { Run } from './run-model.ts';

/** Until when a wait lasts, if that is known. */
function Until({ at }: { at: string | null }) {
  const { words } = useLanguage();
  if (at === null) return null;
  return (
    <p>
      {words.run.until} <RelativeTime at={at} />
    </p>
  );
}

/** Why the run waits, and the one thing to click. Nothing while it works or after it has ended. */
export function WaitBanner({ run }: { run: Run }) {
  const { words, format } = useLanguage();
  const stepName = useStepName();
  const wait = run.waitsFor;
  if (wait === null) return null;
  const step = 'stepIndex' in wait ? run.stepsResultJson[wait.stepIndex] : undefined;
  const name = step === undefined ? '' : stepName(step);
  const { waits } = words.run;
  switch (wait.kind) {
    case 'approval':
      return (
        <ApprovalBanner
          key={wait.approvalId}
          approvalId={wait.approvalId}
          title={format(waits.approval, { step: name })}
        />
      );
    case 'node_command': {
      const node = visibleLine(wait.nodeName);
      const title = wait.waitsForOwner
        ? waits.nodeOwner
        : wait.handedOut
          ? waits.nodeWorks
          : wait.nodeOnline
            ? waits.nodeOnline
            : waits.nodeOffline;
      return (
        <Banner
          tone={wait.nodeOnline && !wait.waitsForOwner ? 'neutral' : 'warning'}
          title={format(title, { node, step: name })}
          actions={
            <ButtonLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: wait.nodeId }}>
              {waits.openNode}
            </ButtonLink>
          }
        >
          {wait.waitsForOwner && <p>{waits.nodeOwnerText}</p>}
          {!wait.nodeOnline && <p>{waits.nodeOfflineText}</p>}
          <p>
            {wait.waitsForOwner
              ? waits.nodeDeadlineIfAllowed
              : wait.handedOut
                ? waits.nodeDeadline
                : waits.nodeStartDeadline}{' '}
            <RelativeTime at={wait.until} />
          </p>
        </Banner>
      );
    }
    case 'run':
      return (
        <Banner
          tone="neutral"
          title={format(waits.run, { step: name })}
          actions={
            <ButtonLink to="/runs/$runId" params={{ runId: wait.runId }}>
              {waits.openRun}
            </ButtonLink>
          }
        />
      );
    case 'limit':
      return (
        <Banner
          tone="warning"
          title={waits.limits[wait.limit]}
          actions={
            <ButtonLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: run.workflowId }}>
              {waits.openWorkflow}
            </ButtonLink>
          }
        >
          <Until at={wait.until} />
        </Banner>
      );
    case 'quiet_hours':
      return (
        <Banner
          tone="warning"
          title={waits.quietHours}
          actions={
            <ButtonLink to="/settings/{-$section}" params={{ section: 'policy' }}>
              {waits.openPolicy}
            </ButtonLink>
          }
        >
          <Until at={wait.until} />
        </Banner>
      );
    case 'jitter':
      return (
        <Banner tone="neutral" title={waits.jitter}>
          <Until at={wait.until} />
        </Banner>
      );
    default:
      return (
        <Banner tone="neutral" title={format(waits[wait.kind], { step: name })}>
          <Until at={wait.until} />
        </Banner>
      );
  }
}
