import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { WorkflowSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Card, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { scheduleOf, ScheduleTimes } from './schedule-times.tsx';

/** Whether an element was near the visible part of the page. Cards further down need no requests yet. */
function useWasSeen() {
  const ref = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
      },
      { rootMargin: '300px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, wasSeen };
}

/** One scheduled workflow with its rule and its next times. */
export function ScheduleCard({ workflow }: { workflow: WorkflowSummary }) {
  const { words } = useLanguage();
  const texts = words.workflows;
  const { ref, wasSeen } = useWasSeen();
  const detail = useQuery({
    ...query('getAutomationWorkflow', { params: { id: workflow.id } }),
    enabled: wasSeen,
  });
  const { id, name, active, lastRun } = workflow;
  return (
    <div ref={ref}>
      <Card className="p-4">
        <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className="wrap-anywhere">
            <TextLink to="/schedules/$workflowId" params={{ workflowId: id }}>
              {visibleLine(name)}
            </TextLink>
          </h2>
          <Pill tone={active ? 'success' : 'neutral'}>{active ? texts.on : texts.off}</Pill>
          {lastRun !== null && (
            <span className="ms-auto flex flex-wrap items-center gap-2 text-sm text-text-muted">
              {texts.lastRun} <StatusPill status={lastRun.status} />
              <TextLink to="/runs/$runId" params={{ runId: lastRun.id }}>
                <RelativeTime at={lastRun.queuedAt} />
              </TextLink>
            </span>
          )}
        </div>
        <Loaded of={detail}>
          {(loaded) => {
            const schedule = scheduleOf(loaded);
            return schedule === null ? null : <ScheduleTimes workflow={loaded} schedule={schedule} />;
          }}
        </Loaded>
      </Card>
    </div>
  );
}
