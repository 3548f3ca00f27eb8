import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useId } from 'react';
import type { JsonObject } from '../../../../../../shared/client/operations.ts';
import { query } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { Section } from '../../../ui/layout.tsx';
import { CheckRow, TextField } from '../parts/controls.tsx';
import { JsonField } from '../parts/json-field.tsx';

type Tool = Answer<'getChatAiSettings'>['tools'][number];

const maxTools = 8;
const newTool: Tool = { name: '', skillId: '', description: '', fixed: {}, links: false };

function ToolFields({
  tool,
  skillList,
  onChange,
  onRemove,
  errorOf,
}: {
  tool: Tool;
  /** Id of the list of skill ids. */
  skillList: string;
  onChange: (changes: Partial<Tool>) => void;
  onRemove: () => void;
  errorOf: (path: string) => string | null;
}) {
  const { settings } = useWords();
  const words = settings.chatAi;
  return (
    <li className="rounded-(--radius-medium) border p-3">
      <div className="grid gap-x-4 sm:grid-cols-2">
        <TextField
          label={words.toolName}
          hint={words.toolNameHint}
          required
          maxLength={40}
          value={tool.name}
          error={errorOf('name')}
          onChange={(name) => onChange({ name })}
        />
        <TextField
          label={words.skill}
          hint={words.skillHint}
          required
          list={skillList}
          value={tool.skillId}
          error={errorOf('skillId')}
          onChange={(skillId) => onChange({ skillId })}
        />
      </div>
      <TextField
        label={words.purpose}
        isOptional
        maxLength={300}
        value={tool.description}
        error={errorOf('description')}
        onChange={(description) => onChange({ description })}
      />
      <JsonField
        label={words.fixed}
        hint={words.fixedHint}
        rows={3}
        value={tool.fixed}
        read={(parsed) => {
          if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error(words.notObject);
          return parsed as JsonObject;
        }}
        error={errorOf('fixed')}
        onChange={(fixed) => onChange({ fixed })}
      />
      <CheckRow
        label={words.links}
        hint={words.linksHint}
        isChecked={tool.links}
        onChange={(links) => onChange({ links })}
      />
      <div className="flex justify-end">
        <Button size="small" variant="danger" onClick={onRemove}>
          {words.removeTool}
        </Button>
      </div>
    </li>
  );
}

/** The tools that the AI agent may call in chats. */
export function ToolList({
  tools,
  onChange,
  errorOf,
}: {
  tools: Tool[];
  onChange: (tools: Tool[]) => void;
  errorOf: (path: string) => string | null;
}) {
  const { settings } = useWords();
  const words = settings.chatAi;
  const id = useId();
  const entitlements = useQuery(query('readEntitlements'));
  const catalog = useQuery({
    ...query('listAutomationSkillCatalog'),
    enabled: entitlements.data?.automations === true,
  });
  return (
    <Section title={words.labels.tools}>
      <p className="mb-3 text-text-muted">{words.toolsText}</p>
      <datalist id={id}>
        {catalog.data?.skills.map((skill) => (
          <option key={skill.id} value={skill.id} />
        ))}
      </datalist>
      <ul className="mb-3 flex flex-col gap-3">
        {tools.map((tool, index) => (
          <ToolFields
            key={index}
            tool={tool}
            skillList={id}
            errorOf={(path) => errorOf(`tools[${index}].${path}`)}
            onChange={(changes) => onChange(tools.map((each, at) => (at === index ? { ...each, ...changes } : each)))}
            onRemove={() => onChange(tools.filter((_each, at) => at !== index))}
          />
        ))}
      </ul>
      {tools.length < maxTools && (
        <Button size="small" onClick={() => onChange([...tools, newTool])}>
          <Plus size={14} aria-hidden />
          {words.addTool}
        </Button>
      )}
    </Section>
  );
}
