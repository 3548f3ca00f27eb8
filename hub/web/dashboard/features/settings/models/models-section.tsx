import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useIsAdmin } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Card, Empty } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { JsonField } from '../parts/json-field.tsx';
import { Note } from '../parts/note.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { useView, ViewChoice } from '../parts/view-choice.tsx';
import { HealthNote, HealthPill } from './model-health.tsx';
import { ModelRow } from './model-row.tsx';
import { bodyOf, newModel, readBody, valueOf } from './model-value.ts';
import type { ModelValue } from './model-value.ts';

const maxModels = 20;
/** The hub sends no event when the health of a model changes. */
const rereadMs = 10_000;

/** Moves an item of a list by one position. */
function moved<Item>(list: readonly Item[], from: number, to: number): Item[] {
  const next = [...list];
  const [item] = next.splice(from, 1);
  if (item !== undefined) next.splice(to, 0, item);
  return next;
}

/** Unused models are not called, so that their health says nothing. */
const healthOf = ({ models }: Answer<'getAutomationModels'>, { id, isUsed }: ModelValue) =>
  isUsed ? (models.find((model) => model.id === id)?.health ?? null) : null;

/** The hub's own model, which answers while the workspace uses none of its models. */
function OwnModelNote({ own }: { own: NonNullable<Answer<'getAutomationModels'>['fallback']> }) {
  const { words, format } = useLanguage();
  return (
    <Note>
      <span className="me-2">{format(words.settings.models.fallback, { model: visibleLine(own.model) })}</span>
      <HealthPill health={own.health} />
      <HealthNote health={own.health} className="mt-1" />
    </Note>
  );
}

function ModelsForm({ server }: { server: Answer<'getAutomationModels'> }) {
  const { words } = useLanguage();
  const { settings } = words;
  const text = settings.models;
  const isAdmin = useIsAdmin();
  const view = useView();
  const cache = useQueryClient();
  const put = useAction('putAutomationModels', {
    onDone: (answer) => cache.setQueryData(keyOf('getAutomationModels'), answer),
  });
  let { version } = server;
  const edits = useEdits({
    current: valueOf(server),
    reload: async () => {
      const fresh = await cache.fetchQuery({ ...query('getAutomationModels'), staleTime: 0 });
      version = fresh.version;
      return valueOf(fresh);
    },
    save: ({ models }) => put.run({ body: bodyOf(models) }, version),
  });
  const { models } = edits.value;
  const set = (next: ModelValue[]) => edits.set({ models: next });
  return (
    <EditForm edits={edits} labels={{ models: text.models }} canEdit={isAdmin}>
      <div>
        {server.fallback !== null && !models.some(({ isUsed }) => isUsed) && <OwnModelNote own={server.fallback} />}
        <ViewChoice />
        {view === 'json' ? (
          <JsonField
            label={text.models}
            hint={text.jsonHint}
            value={bodyOf(models)}
            read={(parsed) => readBody(parsed, text.notModels, models)}
            error={edits.errorOf('models') ?? edits.errorOf('order')}
            onChange={set}
          />
        ) : (
          <>
            {models.length === 0 ? (
              <Card>
                <Empty title={text.empty}>{text.emptyText}</Empty>
              </Card>
            ) : (
              <ol className="flex flex-col gap-2">
                {models.map((model, index) => (
                  <ModelRow
                    // A new model has no id yet, and typing one must not move the focus.
                    key={index}
                    model={model}
                    health={healthOf(server, model)}
                    position={index}
                    isLast={index === models.length - 1}
                    version={server.version}
                    isChanged={edits.isChanged}
                    errorOf={(path) => edits.errorOf(`models[${index}].${path}`)}
                    onChange={(changes) =>
                      set(models.map((each, at) => (at === index ? { ...each, ...changes } : each)))
                    }
                    onMove={(by) => set(moved(models, index, index + by))}
                    onRemove={() => set(models.filter((_each, at) => at !== index))}
                  />
                ))}
              </ol>
            )}
            {isAdmin && models.length < maxModels && (
              <div className="mt-3">
                <Button onClick={() => set([...models, newModel()])}>
                  <Plus size={16} aria-hidden />
                  {text.add}
                </Button>
              </div>
            )}
          </>
        )}
      </div>
    </EditForm>
  );
}

export function ModelsSection() {
  const { settings } = useLanguage().words;
  const models = useQuery({ ...query('getAutomationModels'), refetchInterval: rereadMs });
  return (
    <>
      <p className="mb-3 text-text-muted">{settings.models.orderText}</p>
      <Loaded of={models}>{(server) => <ModelsForm server={server} />}</Loaded>
    </>
  );
}
