import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { JsonObject, Pack } from '../../../../../shared/client/operations.ts';
import type { ObjectSchema } from '../../../../../shared/inputs-schema.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { defaultsOf, InputsForm } from '../runs/inputs-form.tsx';

/** Creates a workflow from an installed pack and opens its page. */
export function CreateWorkflowDialog({ pack, onClose }: { pack: Pack; onClose: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.packs;
  const navigate = useNavigate();
  const schema = pack.inputsSchema as ObjectSchema;
  const [name, setName] = useState(pack.name);
  const [inputs, setInputs] = useState<JsonObject>(() => defaultsOf(schema));
  const [isActive, setActive] = useState(false);
  const create = useAction('createAutomationSkillWorkflow', {
    onDone: ({ id }) => navigate({ to: '/workflows/$workflowId/{-$tab}', params: { workflowId: id } }),
  });
  const problems = new Map(
    create.error instanceof ApiError
      ? create.error.details.map(({ path, message }) => [path.replace(/^body\./, ''), message])
      : [],
  );
  return (
    <Dialog title={format(texts.createTitle, { name: visibleLine(pack.name) })} onClose={onClose}>
      <Field label={texts.workflowName} error={problems.get('name') ?? null}>
        {(attributes) => (
          <Input {...attributes} maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <InputsForm schema={schema} value={inputs} onChange={setInputs} path="inputs" problems={problems} />
      <label className="mb-3 flex items-center gap-2">
        <input type="checkbox" checked={isActive} onChange={(event) => setActive(event.target.checked)} />
        {texts.active}
      </label>
      <ErrorNote error={create.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button
          variant="primary"
          isBusy={create.isPending}
          onClick={() => create.start({ params: { packId: pack.id }, body: { name, inputs, active: isActive } })}
        >
          {texts.createNow}
        </Button>
      </div>
    </Dialog>
  );
}
