/** The texts of the page. */
export const english = {
  title: 'Notifications',
  user: 'Signed in as {email}',
  text: 'This browser can tell you when an approval waits for your decision, also while no page of the hub is open.',
  privacy:
    'The notification says only that an approval waits: it shows no title and no name. The push service of your browser’s maker delivers it encrypted: the service learns the address of this browser and the time, not the content.',
  session:
    'Notifications continue after your sign-in expires. They end when you sign out in this browser, when you change your password in another browser, and when you do not use the hub in this browser for 60 days.',
  loading: 'Loading…',
  on: 'Notifications are on in this browser.',
  off: 'Notifications are off in this browser.',
  denied: 'Your browser blocks notifications of this hub.',
  deniedText:
    'Open the settings of this site in your browser, beside the address, and allow notifications. Then check again.',
  stopped: 'The push service refuses the messages of this hub.',
  stoppedText:
    'The hub sends nothing more to this browser, because the push service has refused every message for days. Turn on notifications again. If they stop again, tell the operator of this hub.',
  unsupported: 'This browser cannot receive notifications.',
  unsupportedText:
    'The page must be opened by https. Use a current version of Chrome, Edge, Firefox or Safari, and no private window.',
  noService: 'The push service of your browser is not reachable.',
  noServiceText: 'Check your connection, and whether a firewall or a setting of the browser blocks the service.',
  noHub: 'The hub is not reachable.',
  noHubText: 'Check your connection, then try again.',
  turnOn: 'Turn on notifications',
  turnOff: 'Turn off notifications',
  retry: 'Try again',
  back: 'Back to your profile',
};
export type Words = typeof english;
