import { useQuery } from '@tanstack/react-query';
import { query } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill } from '../../../ui/status.tsx';
import { WorkspaceNameForm } from './workspace-name-form.tsx';

export function EntitlementsSection() {
  const { settings } = useWords();
  const words = settings.entitlements;
  const me = useQuery(query('readMe'));
  const entitlements = useQuery(query('readEntitlements'));
  return (
    <div className="flex flex-col gap-4">
      <Loaded of={me}>{({ workspaceName }) => <WorkspaceNameForm name={workspaceName} />}</Loaded>
      <Section title={words.products}>
        <p className="mb-3 text-text-muted">{words.operator}</p>

        <Loaded of={entitlements}>
          {(granted) => (
            <ul className="divide-y">
              {(Object.keys(granted) as (keyof Answer<'readEntitlements'>)[]).map((name) => (
                <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3.5 py-2.5">
                  <div className="min-w-0">
                    <p className="font-semibold">{words.names[name]}</p>
                    <p className="text-sm text-text-muted">{words.texts[name]}</p>
                  </div>
                  <span className="ms-auto">
                    <Pill tone={granted[name] ? 'success' : 'neutral'}>
                      {granted[name] ? words.included : words.notIncluded}
                    </Pill>
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Section>
    </div>
  );
}
