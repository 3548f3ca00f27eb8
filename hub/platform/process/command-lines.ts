/** Whether the hub runs from an installed package, which has no npm scripts. */
const isPackage = import.meta.url.includes('/node_modules/');

/** Commands that start the programs of this installation, for messages and pages. */
export const commandLines = isPackage
  ? {
      start: 'npx outrigger start',
      startWithOptions: 'npx outrigger start',
      hub: 'npx outrigger',
      companion: 'npx outrigger-companion',
    }
  : {
      start: 'npm start',
      startWithOptions: 'npm start --',
      hub: 'npm run outrigger --',
      companion: 'npm run companion --',
    };
