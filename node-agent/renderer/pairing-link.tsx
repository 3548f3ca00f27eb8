import type { PairingLink } from '../../shared/companion/app.ts';
import { useAction, useArmed, useSelected, useStore } from './companion-context.tsx';
import { useConsents } from './connect-form.tsx';
import { ActionError, Button, Line, Notice } from './controls.tsx';
import { Decision } from './modal.tsx';

function LinkDecision({ link }: { link: PairingLink }) {
  const store = useStore();
  const action = useAction();
  const isArmed = useArmed();
  const consents = useConsents(!link.isEncrypted && !link.isLocal);
  const isReady = isArmed && consents.isComplete && !action.isBusy;
  const dismiss = async () => store.setApp(await store.call('app.dismissPairingLink', {}));
  const connect = () =>
    action.run(async () => {
      store.setState(await store.call('pair', { hub: link.hub, code: link.code, ...consents.given }));
      await dismiss();
    });
  return (
    <Decision
      isOpen
      title={link.problem === null ? 'Connect this machine to a hub?' : "This link can't be used"}
      onClose={() => action.run(dismiss)}
    >
      <p>
        {link.problem === null
          ? 'A link requests this. Connect only if you know this address and expected the link.'
          : 'A link requested to connect this machine to a hub. Nothing was connected.'}
      </p>
      {link.hub !== '' && (
        <div className="origin">
          <Line text={link.hub} />
        </div>
      )}
      {link.looksLike !== null && (
        <Notice tone="warning" title="Check this name carefully">
          It contains letters of other alphabets. A browser shows it as <Line text={link.looksLike} />, which may look
          like a name that you know. The address above is the real one.
        </Notice>
      )}
      {link.problem === null ? (
        <>
          <dl className="facts">
            <dt>Code</dt>
            <dd>
              <code>
                <Line text={link.code} />
              </code>
            </dd>
          </dl>
          {consents.questions}
        </>
      ) : (
        <Notice tone="bad">
          <Line text={link.problem} />
        </Notice>
      )}
      <ActionError action={action} title="This machine was not connected" />
      <div className="popup-end">
        <Button size="big" disabled={action.isBusy} onClick={() => action.run(dismiss)}>
          {link.problem === null ? 'Cancel' : 'Close'}
        </Button>
        {link.problem === null && (
          <Button
            variant="main"
            size="big"
            aria-disabled={!isReady}
            onClick={() => {
              if (isReady) connect();
            }}
          >
            {action.isBusy ? 'Connecting…' : 'Connect'}
          </Button>
        )}
      </div>
    </Decision>
  );
}

/** Asks the owner about a pairing link that was opened. Nothing connects before the owner confirms. */
export function PairingLinkDialog() {
  const link = useSelected(({ app }) => app?.pairingLink ?? null);
  return link === null ? null : <LinkDecision key={`${link.hub} ${link.code}`} link={link} />;
}
