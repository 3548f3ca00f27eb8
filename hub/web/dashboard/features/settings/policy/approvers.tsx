import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { CheckRow, Group } from '../parts/controls.tsx';

const maxMembers = 100;

/** The members who decide approvals of steps without approvers. */
export function Approvers({
  value,
  onChange,
  error,
}: {
  value: readonly string[];
  onChange: (emails: string[]) => void;
  error: string | null;
}) {
  const { settings } = useWords();
  const words = settings.policy;
  const members = useQuery(query('listMembers', { params: { tenantId: useTenantId() }, query: { limit: maxMembers } }));
  return (
    <Group label={words.labels.defaultApprovers} hint={words.approversHint} error={error}>
      <Loaded of={members}>
        {({ data }) => {
          // A former member stays visible, because the hub refuses approvers who are no members.
          const former = value.filter((email) => !data.some((member) => member.email === email));
          const rows = [
            ...data.map(({ email, displayName }) => ({ email, name: displayName })),
            ...former.map((email) => ({ email, name: words.notMember })),
          ];
          return (
            <div className="max-h-60 overflow-y-auto rounded-(--radius-medium) border px-3 py-1" tabIndex={-1}>
              {rows.map(({ email, name }) => (
                <CheckRow
                  key={email}
                  label={visibleLine(email)}
                  {...(name === null ? {} : { hint: visibleLine(name) })}
                  isChecked={value.includes(email)}
                  onChange={(isChecked) =>
                    onChange(isChecked ? [...value, email] : value.filter((each) => each !== email))
                  }
                />
              ))}
            </div>
          );
        }}
      </Loaded>
    </Group>
  );
}
