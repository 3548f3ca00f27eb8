import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Switch } from '../../ui/form.tsx';
import { Card, TextLink } from '../../ui/layout.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { CopyButton } from '../../ui/value.tsx';
import { useUpdateNode } from './node-actions.tsx';
import { hubSwitchOf, powerIcons, powerState, powers, trialOf } from './powers.ts';
import type { Power, PowerState } from './powers.ts';
import { StackedCell, StackedRow, StackedTable } from './stacked-table.tsx';

const columns = 'md:grid-cols-[minmax(9rem,1.2fr)_7rem_minmax(8rem,1fr)_minmax(10rem,1.6fr)_minmax(8rem,1fr)]';

/** A command for the owner, to copy. */
export function OwnerCommand({ command }: { command: string }) {
  return (
    <span className="flex items-start gap-1">
      <code dir="ltr" className="min-w-0 rounded-sm bg-surface-muted px-1.5 py-0.5 text-sm wrap-anywhere">
        {visibleLine(command)}
      </code>
      <span className="-my-1.5 shrink-0">
        <CopyButton text={command} />
      </span>
    </span>
  );
}

function HubPart({ node, power, state }: { node: Node; power: Power; state: PowerState }) {
  const { words, format } = useLanguage();
  const { nodes, common } = words;
  const isAdmin = useIsAdmin();
  const update = useUpdateNode();
  const name = hubSwitchOf[power];
  if (name === undefined) return <span className="text-text-muted">{nodes.noSwitch}</span>;
  const isDisabled = !isAdmin || update.isPending || node.status === 'revoked';
  return (
    <>
      <span className="flex items-center gap-2" title={isAdmin ? undefined : common.notAllowed}>
        <Switch
          label={format(nodes.hubSwitch, { power: nodes.power[power].name })}
          isOn={state.hub === true}
          isDisabled={isDisabled}
          onChange={(isOn) => update.start({ params: { id: node.id }, body: { [name]: isOn } })}
        />
        <span aria-hidden className={state.hub === true ? 'text-success' : 'text-text-muted'}>
          {state.hub === true ? nodes.on : nodes.off}
        </span>
      </span>
      <ErrorNote error={update.error} />
    </>
  );
}

function OwnerPart({ node, power, state }: { node: Node; power: Power; state: PowerState }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  if (state.device === null) return <span className="text-text-muted">{nodes.unknown}</span>;
  const { isAllowed, until, asksOwner } = state.device;
  if (isAllowed)
    return (
      <>
        <span className="font-semibold text-success">
          {until === null ? (
            nodes.allowed
          ) : (
            <>
              {nodes.allowedUntil} <LocalTime at={until} />
            </>
          )}
        </span>
        {asksOwner && <div className="text-sm text-text-muted">{nodes.asksOwner}</div>}
      </>
    );
  return (
    <>
      <span className="font-semibold text-text-muted">{nodes.off}</span>
      {node.status !== 'revoked' && (
        <div className="mt-1 text-sm text-text-muted">
          {format(nodes.allowInApp, { power: nodes.powerInApp[power] })}
          <OwnerCommand command={`npx outrigger-companion allow ${power}`} />
        </div>
      )}
    </>
  );
}

const systemTones = {
  granted: 'text-success',
  denied: 'text-danger',
  missing: 'text-warning',
  unknown: 'text-text-muted',
};

function SystemPart({ state: { device } }: { state: PowerState }) {
  const { nodes } = useLanguage().words;
  if (device === null) return <span className="text-text-muted">{nodes.unknown}</span>;
  const { state, detail, remedy } = device.system;
  return (
    <>
      <span className={`font-semibold ${systemTones[state]}`}>{nodes.systemState[state]}</span>
      {detail !== '' && (
        <div className="text-sm text-text-muted wrap-anywhere">
          <bdi>{visibleLine(detail)}</bdi>
        </div>
      )}
      {remedy !== null && (
        <div className="mt-1 text-sm wrap-anywhere">
          <bdi>{visibleLine(remedy.text)}</bdi>
          {remedy.command !== null && <OwnerCommand command={remedy.command} />}
        </div>
      )}
    </>
  );
}

const verdictTones: Record<PowerState['verdict'], Tone> = {
  works: 'success',
  trial: 'success',
  blocked: 'warning',
  unknown: 'neutral',
};

function Verdict({ node, power, state }: { node: Node; power: Power; state: PowerState }) {
  const { nodes } = useLanguage().words;
  const { verdict, obstacles } = state;
  const canTry = verdict !== 'blocked' && node.status !== 'revoked';
  return (
    <>
      <Pill tone={verdictTones[verdict]}>
        {verdict === 'works' && power === 'system' ? nodes.withApproval : nodes.verdict[verdict]}
      </Pill>
      {obstacles.length > 0 && (
        <div className="mt-0.5 text-sm text-text-muted">
          {obstacles.map((obstacle) => (
            <div key={obstacle}>{nodes.obstacle[obstacle]}</div>
          ))}
        </div>
      )}
      {canTry && (
        <div className="text-sm">
          <TextLink
            to="/nodes/$nodeId/{-$tab}"
            params={{ nodeId: node.id, tab: 'console' }}
            search={{ skill: trialOf[power] }}
          >
            {nodes.tryIt}
          </TextLink>
        </div>
      )}
    </>
  );
}

/** A warning above the tabs of a node that does nothing at present, with what its owner can do. */
export function PausedNote({ node }: { node: Node }) {
  const { nodes } = useLanguage().words;
  if (!node.paused) return null;
  return (
    <div role="status" className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2">
      <p className="font-semibold text-warning">{nodes.pausedTitle}</p>
      <p className="text-sm">{nodes.pausedText}</p>
      <OwnerCommand command="npx outrigger-companion resume" />
    </div>
  );
}

/** One row for each power: the switch of the hub, the switch of the owner, and the answer of the system. */
export function PermissionsTab({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes } = words;
  const head = [nodes.powerColumn, nodes.hub, nodes.owner, nodes.systemColumn, nodes.works];
  const isOld = node.device !== null && node.device.powers === undefined;
  return (
    <>
      <PausedNote node={node} />
      {isOld && (
        <p role="status" className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2 text-sm">
          {nodes.oldCompanion}
        </p>
      )}
      <Card>
        <StackedTable label={nodes.permissions} columns={columns} head={head}>
          {powers.map((power) => {
            const state = powerState(node, power);
            const Icon = powerIcons[power];
            return (
              <StackedRow key={power} columns={columns}>
                <div role="rowheader" className="flex gap-2.5 pb-1 md:pb-0">
                  <Icon size={18} aria-hidden className="mt-0.5 shrink-0 text-text-muted" />
                  <div>
                    <div className="font-semibold">{nodes.power[power].name}</div>
                    <div className="text-sm text-text-muted">{nodes.power[power].about}</div>
                  </div>
                </div>
                <StackedCell label={nodes.hub}>
                  <HubPart node={node} power={power} state={state} />
                </StackedCell>
                <StackedCell label={nodes.owner}>
                  <OwnerPart node={node} power={power} state={state} />
                </StackedCell>
                <StackedCell label={nodes.systemColumn}>
                  <SystemPart state={state} />
                </StackedCell>
                <StackedCell label={nodes.works}>
                  <Verdict node={node} power={power} state={state} />
                </StackedCell>
              </StackedRow>
            );
          })}
        </StackedTable>
      </Card>
      <p className="mt-3 max-w-prose text-sm text-text-muted">{nodes.permissionsHelp}</p>
    </>
  );
}
