import { useQuery } from '@tanstack/react-query';
import { useLanguage } from '../../app/language.tsx';
import { Section } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import type { Run } from './run-model.ts';
import { runInputQuery } from './use-run.ts';
import { JsonValueView, TextView } from './value-view.tsx';

/** What the run was started with. */
export function RunInput({ run }: { run: Run }) {
  const { words } = useLanguage();
  const result = useQuery(runInputQuery(run.id));
  return (
    <Section title={words.run.runInput}>
      <Loaded of={result}>
        {({ payload, context }) => (
          <div className="flex flex-col gap-4">
            <section>
              <h3 className="mb-1">{words.run.payload}</h3>
              {payload === null ? (
                <p className="text-text-muted">{words.run.noPayload}</p>
              ) : (
                <JsonValueView value={payload} label={words.run.payload} />
              )}
            </section>
            {context !== null && context !== '' && (
              <section>
                <h3 className="mb-1">{words.run.context}</h3>
                <TextView text={context} label={words.run.context} />
              </section>
            )}
          </div>
        )}
      </Loaded>
    </Section>
  );
}
