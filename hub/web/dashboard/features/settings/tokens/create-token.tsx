import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { CodeBlock } from '../../../ui/value.tsx';
import { CheckRow, ChoiceField, Group, LinesField, TextField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { managed, permissionsOf, products } from './permissions.ts';
import type { Permission, Product } from './permissions.ts';

const dayMs = 24 * 60 * 60 * 1000;
const lifetimes = ['never', '30', '90', '365'] as const;
type Lifetime = (typeof lifetimes)[number];

const curlLine = (key: string) => `curl ${location.origin}/v1/me -H 'X-API-Key: ${key}'`;

export function CreateToken({ onClose }: { onClose: () => void }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const text = settings.tokens;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [name, setName] = useState('');
  const [product, setProduct] = useState<Product>('automations');
  const [environment, setEnvironment] = useState<'live' | 'test'>('live');
  const [chosen, setChosen] = useState<readonly Permission[]>([]);
  const [lifetime, setLifetime] = useState<Lifetime>('never');
  const [addresses, setAddresses] = useState<string[]>([]);
  const create = useAction('createApiToken', { onDone: () => reread(cache, ['listApiTokens']) });
  const errorOf = fieldErrors(create.error);
  if (create.data !== undefined)
    return (
      <SecretOnce title={text.createdTitle} label={text.token} secret={create.data.key} onClose={onClose}>
        <h3 className="mt-3 mb-1">{text.tryIt}</h3>
        <CodeBlock text={curlLine(create.data.key)} label={text.tryIt} />
      </SecretOnce>
    );
  return (
    <Dialog title={text.create} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.start({
            params: { tenantId },
            body: {
              name,
              product,
              environment,
              permissions: [...chosen],
              ...(lifetime === 'never'
                ? {}
                : { expiresAt: new Date(Date.now() + Number(lifetime) * dayMs).toISOString() }),
              ...(addresses.length === 0 ? {} : { ipAllowlist: addresses }),
            },
          });
        }}
      >
        <TextField
          label={text.name}
          hint={text.nameHint}
          required
          maxLength={200}
          value={name}
          error={errorOf('name')}
          onChange={setName}
        />
        <ChoiceField
          label={text.product}
          hint={text.productTexts[product]}
          value={product}
          choices={products.map((each) => [each, text.products[each]] as const)}
          error={errorOf('product')}
          onChange={(next) => {
            setProduct(next);
            setChosen([]);
          }}
        />
        <Group label={text.permissions} error={errorOf('permissions')}>
          {permissionsOf[product].map((permission) => {
            const isManaged = chosen.includes('automations:manage') && managed.includes(permission);
            return (
              <CheckRow
                key={permission}
                label={<code>{permission}</code>}
                hint={isManaged ? text.included : text.permissionTexts[permission]}
                isChecked={isManaged || chosen.includes(permission)}
                onChange={(isChecked) =>
                  setChosen(isChecked ? [...chosen, permission] : chosen.filter((each) => each !== permission))
                }
              />
            );
          })}
        </Group>
        <ChoiceField
          label={text.environment}
          hint={product === 'chat' ? text.environmentTexts.chat : text.environmentTexts.other}
          value={environment}
          choices={[
            ['live', common.live],
            ['test', common.test],
          ]}
          error={errorOf('environment')}
          onChange={setEnvironment}
        />
        <ChoiceField
          label={text.expires}
          value={lifetime}
          choices={lifetimes.map(
            (each) => [each, each === 'never' ? text.never : format(text.days, { count: Number(each) })] as const,
          )}
          error={errorOf('expiresAt')}
          onChange={setLifetime}
        />
        <LinesField
          label={text.addresses}
          hint={text.addressesHint}
          isOptional
          rows={2}
          value={addresses}
          error={errorOf('ipAllowlist')}
          onChange={setAddresses}
        />
        <ErrorNote error={create.error} />
        <div className="flex items-center justify-end gap-2">
          {chosen.length === 0 && <span className="me-auto text-sm text-text-muted">{text.choosePermission}</span>}
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={create.isPending} disabled={chosen.length === 0}>
            {text.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
