import { useState } from 'react';
import { useLanguage } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { Input, Select } from '../../../ui/form.tsx';
import { instantOf, localInputOf } from '../parts/local-time.ts';
import { useSettingsSearch } from '../use-settings-search.ts';
import { targetTypes } from './target-types.ts';

/** Filters of the audit log. They are in the address, so that a link shows the same entries. */
export function AuditFilters({ actors }: { actors: readonly { actor: string; name: string }[] }) {
  const { settings } = useLanguage().words;
  const words = settings.audit;
  const [{ actor, action, targetType, targetId, from, to }, change] = useSettingsSearch();
  const [id, setId] = useState(targetId ?? '');
  const actions: Record<string, string> = words.actions;
  const isListed = actor === undefined || actors.some((each) => each.actor === actor);
  return (
    <form
      className="mb-3 flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        change({ targetId: id.trim() });
      }}
    >
      <Select
        aria-label={words.actor}
        className="w-auto! max-w-56"
        value={actor ?? ''}
        onChange={({ target }) => change({ actor: target.value })}
      >
        <option value="">{words.anyActor}</option>
        {!isListed && <option value={actor}>{actor}</option>}
        <option value="operator">{words.actors.operator}</option>
        {actors.map((each) => (
          <option key={each.actor} value={each.actor}>
            {each.name}
          </option>
        ))}
      </Select>
      <Select
        aria-label={words.targetType}
        className="w-auto! max-w-full"
        value={targetType ?? ''}
        onChange={({ target }) => change({ targetType: target.value })}
      >
        <option value="">{words.anyTarget}</option>
        {targetType !== undefined && !targetTypes.some((type) => type === targetType) && (
          <option value={targetType}>{targetType}</option>
        )}
        {targetTypes.map((type) => (
          <option key={type} value={type}>
            {words.targets[type]}
          </option>
        ))}
      </Select>
      <Select
        aria-label={words.action}
        className="w-auto! max-w-56"
        value={action ?? ''}
        onChange={({ target }) => change({ action: target.value })}
      >
        <option value="">{words.anyAction}</option>
        {action !== undefined && !Object.hasOwn(actions, action) && <option value={action}>{action}</option>}
        {Object.entries(actions).map(([name, label]) => (
          <option key={name} value={name}>
            {label.replace(/:$/, '')}
          </option>
        ))}
      </Select>
      {(['from', 'to'] as const).map((name) => {
        const at = name === 'from' ? from : to;
        return (
          <label key={name} className="flex items-center gap-1.5 text-sm">
            {settings.aiUsage[name]}
            <Input
              type="datetime-local"
              className="w-auto! max-w-full"
              value={at === undefined || Number.isNaN(Date.parse(at)) ? '' : localInputOf(new Date(at))}
              onChange={({ target }) => change({ [name]: instantOf(target.value) })}
            />
          </label>
        );
      })}
      <Input
        type="search"
        aria-label={words.targetId}
        placeholder={words.targetId}
        className="w-56! max-w-full"
        value={id}
        onChange={({ target }) => setId(target.value)}
      />
      <Button type="submit">{words.filter}</Button>
      {(actor ?? action ?? targetType ?? targetId ?? from ?? to) !== undefined && (
        <Button
          variant="quiet"
          onClick={() =>
            change({
              actor: undefined,
              action: undefined,
              targetType: undefined,
              targetId: undefined,
              from: undefined,
              to: undefined,
            })
          }
        >
          {words.clear}
        </Button>
      )}
    </form>
  );
}
